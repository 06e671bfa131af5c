"""Text from outside: made encodable, bounded, and safe to show; long text by reference to a blob."""
