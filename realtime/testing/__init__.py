"""What tests of voice agents need: a loop in virtual time, recordings, scripted users, conformance checks."""
