"""From evidence to verdict, on a candidate and on the contract, as pure rules."""
