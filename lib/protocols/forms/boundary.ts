/**
 * The boundary of a multipart form, as its content type says it. Only one spelling is read: a type with one boundary, and
 * perhaps the charset that is the usual one. Anything else, two readers could take differently, so that the upstream would
 * find other fields in the form than the gateway did.
 */

const FORM = /^multipart\/form-data[ \t]*(?:;|$)/i
/** Letters of a boundary (RFC 2046); a space must not be the last. */
const LETTERS = "[0-9A-Za-z'()+_,\\-./:=?]"
const TOKEN = "[0-9A-Za-z+_\\-.']{1,70}"
const QUOTED = `"(${LETTERS}(?:[ 0-9A-Za-z'()+_,\\-./:=?]{0,68}${LETTERS})?)"`
const CHARSET = '(?:[ \\t]*;[ \\t]*charset=(?:utf-8|"utf-8"))?'
const WHOLE = new RegExp(
  `^multipart/form-data${CHARSET}[ \\t]*;[ \\t]*boundary=(?:(${TOKEN})|${QUOTED})${CHARSET}[ \\t]*;?[ \\t]*$`,
  'i',
)

/** Whether the type says that the body is a form, be it in a spelling that is not read. */
export const isForm = (type: string | undefined): boolean => type !== undefined && FORM.test(type.trimStart())

/** Returns null when the type names no boundary, or not in the one way that is read. */
export function boundaryOf(type: string | undefined): string | null {
  const found = WHOLE.exec(type ?? '')
  return found === null ? null : (found[1] ?? (found[2] as string))
}
