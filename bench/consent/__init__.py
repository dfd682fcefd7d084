"""How consent by voice is heard: labelled answers, voices in real calls, and many calls with noise and bystanders."""
