/**
 * A header as it goes over HTTP/1.1, `name: value`, a character a byte. What is not one is refused before it is written: it
 * could be read as something else than what it was meant to be.
 */
export const HEADER_LINE = /^[\w!#$%&'*+\-.^`|~]+: [\t\x20-\x7e\x80-\xff]*$/
