"""Forward mode: functions of core with tangents."""
