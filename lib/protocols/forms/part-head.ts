/**
 * The head of one part of a form: what the part is called, and whether it is a file. Readers of forms differ in how they
 * treat what is unusual here (escapes in names, names given twice, folded lines, encoded parts). An upstream that reads a
 * name in another way would find another model in the form than the gateway did, so every such head is refused.
 */

export interface PartHead {
  name: string
  /** The part has a file name, so that readers take it for a file. */
  isFile: boolean
  /** The media type in lower case, without its parameters; empty = the part names none. */
  type: string
  /** The content is text in UTF-8, as far as the head says. */
  isText: boolean
}

const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/
const MOST_LINES = 16
/** Encodings in which a part is what it looks like. */
const PLAIN = /^(?:binary|8bit|7bit)$/i
const DISPOSITION = /^form-data((?:[ \t]*;[ \t]*[\w*-]+=(?:"[^"]*"|[^\s";,]+))*)[ \t]*;?[ \t]*$/i
const PARAMETER = /;[ \t]*([\w*-]+)=(?:"([^"]*)"|([^\s";,]+))/g
const TEXT = /^(?:text\/plain[ \t]*(?:;[ \t]*charset=(?:"utf-8"|utf-8)[ \t]*)?)?$/i
/** A name that every reader takes as it stands: no escapes, nothing but ASCII. */
const NAME = /^[ !#$&-[\]-~]{0,256}$/
/** Control characters. */
const CONTROL = /[^\t -~\x80-\xff]/

/** `text`: the head as Latin-1, without the empty line that ends it. Returns null when it is not one that is read. */
export function partHeadOf(text: string): PartHead | null {
  const lines = text.split('\r\n')
  if (lines.length > MOST_LINES || CONTROL.test(lines.join(''))) return null
  const fields = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = LINE.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === '' || fields.has(key)) return null
    fields.set(key, value.trimEnd())
  }
  const encoding = fields.get('content-transfer-encoding')
  if (encoding !== undefined && !PLAIN.test(encoding)) return null
  const named = parametersOf(fields.get('content-disposition') ?? '')
  const name = named?.get('name')
  if (named === null || name === undefined || !NAME.test(name)) return null
  const type = fields.get('content-type') ?? ''
  return {
    name,
    isFile: named.has('filename') || named.has('filename*'),
    type: (type.split(';', 1)[0] as string).trim().toLowerCase(),
    isText: TEXT.test(type),
  }
}

/** Parameters of a disposition. Each may be there once, and only those that forms have. */
function parametersOf(disposition: string): Map<string, string> | null {
  const all = DISPOSITION.exec(disposition)?.[1]
  // a quote behind a backslash ends the value for some readers, and not for others
  if (all === undefined || all.includes('\\"')) return null
  const found = new Map<string, string>()
  for (const [, key = '', quoted, token] of all.matchAll(PARAMETER)) {
    const name = key.toLowerCase()
    if (!['name', 'filename', 'filename*'].includes(name) || found.has(name)) return null
    found.set(name, quoted ?? token ?? '')
  }
  return found
}
