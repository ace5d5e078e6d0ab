"""Arrays for emitted code: allocation, shadows, broadcast views."""
