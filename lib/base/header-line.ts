/**
 * What a line of HTTP/1.1 headers looks like: `name: value`, one character per byte. Whoever writes headers refuses a
 * line that does not match: a line break inside a value, for example, would begin another header or another request.
 */
export const HEADER_LINE = /^[\w!#$%&'*+\-.^`|~]+: [\t\x20-\x7e\x80-\xff]*$/
