"""The site: pages of docs/, notebooks, and what is printed from the code, built by Sphinx without a network.

Its sources stand in the same folders as in the repository, so that a link that works on GitHub works in the site.
"""
