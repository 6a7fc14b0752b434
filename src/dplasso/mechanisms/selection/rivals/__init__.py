"""Selection rules that exist to be compared with `lazy`: the papers' own, and brute force.

Users can pass their names to ``selection=``. No default uses them.
"""
