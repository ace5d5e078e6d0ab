"""The neighbours: the algorithms of four other papers, behind the same `vjp` as the stages."""
