"""How consent by voice is heard: labelled answers, and calls with voices, noise, echoes and bystanders."""
