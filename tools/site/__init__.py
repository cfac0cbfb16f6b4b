"""Builds the site: pages, app, book, the tab's Python and animations, as files for any web server."""
