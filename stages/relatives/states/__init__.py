r"""Machine states: reverse AD of straight-line code, before any function is transformed.

Pearlmutter and Siskind 2008, section 2, Figs. 1 to 4, and Fig. 5. A program is a list of assignments to the elements of
a state, x[L] := u x[R] or x[L] := b (x[R], x[S]). This is where overwriting an element costs something: its sensitivity
has to be set to zero.

    transitions.py      one assignment: the function, its sparse Jacobian, and its two products, for all indices
    modes.py            a program: the chain of Jacobians, forward and reverse mode; backpropagators of whole states
    straight_line.py    reverse mode without a tape: assignments that are put after the program
    recording.py        Python functions as programs, with as few elements as possible; vjp
    fanout.py           the linearized data-flow graph, and its adjoint

>>> from stages.relatives.states.modes import reverse_mode
>>> from stages.relatives.states.transitions import Assignment
>>> program = [Assignment(2, "add", (0, 1)), Assignment(0, "mul", (0, 2))]          # z := x + y; x := x z
>>> reverse_mode(program, [3.0, 2.0, 0.0], [1.0, 0.0, 0.0])
([15.0, 2.0, 5.0], [8.0, 3.0, 0.0])
"""
