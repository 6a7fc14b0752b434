"""Selection rules for comparison with `lazy`: those of the papers, and brute force.

Users can pass their names to ``selection=``. No default uses them.
"""
