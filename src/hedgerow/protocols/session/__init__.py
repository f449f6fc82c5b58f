"""How parties come together: joining a plan, who takes part, what was answered before."""
