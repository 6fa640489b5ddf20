/**
 * A scanner of multipart forms (RFC 7578) that arrive in chunks. It tells the head of each part, passes on the content, and
 * says where each part ends; nothing of a part is kept. It takes a bounded amount of memory and never throws.
 *
 * The boundary is searched natively. Wherever it stands it must be a delimiter: behind a line end (CR LF), and followed by
 * one, or by the two dashes that end the form. A form that has its boundary in any other place, a line end without CR, or
 * spaces behind the boundary is refused: some readers would take such a place for the end of a part, and others not.
 */

const CR = 0x0d
const LF = 0x0a
const DASH = 0x2d
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)
const MOST_HEAD_BYTES = 4096
const MOST_PARTS = 256

/** Offsets count from the beginning of the body. */
export interface PartEvents {
  /** A part begins; its content stands from `start` on. */
  part(head: PartHead, start: number): void
  /** More of its content, which is only valid until the call returns. */
  content(bytes: Buffer): void
  /** The part ends; its content stands up to `end`. */
  endPart(end: number): void
}

/**
 * `preamble` and `epilogue` are what readers pass over before the first boundary and behind the last one; `delimiter` and
 * `last` stand directly behind a boundary, and behind the dashes of the last one.
 */
type State = 'preamble' | 'delimiter' | 'head' | 'content' | 'last' | 'epilogue' | 'bad'

export class MultipartScanner {
  readonly #events: PartEvents
  readonly #needle: Buffer
  #state: State = 'preamble'
  /** The end of the last chunk, which cannot be understood without the next. */
  #rest: Buffer = NOTHING
  /** The bytes that are read, the position in them, and their offset in the body. */
  #data: Buffer = NOTHING
  #at = 0
  #base = 0
  #parts = 0

  constructor(boundary: string, events: PartEvents) {
    this.#events = events
    this.#needle = Buffer.from(`--${boundary}`)
  }

  /** True when the form has come to its last boundary. */
  get complete(): boolean {
    return this.#state === 'epilogue' || (this.#state === 'last' && this.#rest.length === 0)
  }

  feed(chunk: Buffer): void {
    this.#data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#at = 0
    while (this.#step());
    this.#base += this.#at
    this.#rest = this.#state === 'bad' ? NOTHING : Buffer.from(this.#data.subarray(this.#at))
    this.#data = NOTHING
  }

  /** Returns whether it may go on with the bytes that are there. */
  #step(): boolean {
    switch (this.#state) {
      case 'delimiter':
        return this.#delimiter()
      case 'last':
        return this.#last()
      case 'head':
        return this.#head()
      case 'bad':
        return false
      default:
        return this.#search()
    }
  }

  #refuse(): false {
    this.#state = 'bad'
    return false
  }

  /** Looks for the next boundary. What cannot be a part of it is passed on. */
  #search(): boolean {
    const at = this.#data.indexOf(this.#needle, this.#at)
    if (at < 0) {
      this.#pass(this.#data.length - this.#needle.length - LINE_END.length)
      return false
    }
    const begins = this.#state === 'preamble' && this.#base + at === 0
    const isBehindLine = at - LINE_END.length >= this.#at && this.#data[at - 2] === CR && this.#data[at - 1] === LF
    if (this.#state === 'epilogue' || !(begins || isBehindLine)) return this.#refuse()
    if (isBehindLine) this.#pass(at - LINE_END.length)
    if (this.#state === 'content') this.#events.endPart(this.#base + this.#at)
    this.#at = at + this.#needle.length
    this.#state = 'delimiter'
    return true
  }

  #pass(to: number): void {
    if (to <= this.#at) return
    if (this.#state === 'content') this.#events.content(this.#data.subarray(this.#at, to))
    this.#at = to
  }

  #delimiter(): boolean {
    if (this.#data.length < this.#at + 2) return false
    const isLast = this.#data[this.#at] === DASH && this.#data[this.#at + 1] === DASH
    if (!isLast && !this.#endsLine()) return this.#refuse()
    this.#state = isLast ? 'last' : 'head'
    this.#at += 2
    return true
  }

  #last(): boolean {
    if (this.#data.length < this.#at + 2) return false
    if (!this.#endsLine()) return this.#refuse()
    this.#state = 'epilogue'
    return true
  }

  #endsLine(): boolean {
    return this.#data[this.#at] === CR && this.#data[this.#at + 1] === LF
  }

  #head(): boolean {
    const end = this.#data.indexOf(HEAD_END, this.#at)
    if ((end < 0 ? this.#data.length : end) - this.#at > MOST_HEAD_BYTES) return this.#refuse()
    if (end < 0) return false
    const bytes = this.#data.subarray(this.#at, end)
    const head = bytes.includes(this.#needle) ? null : partHeadOf(bytes.toString('latin1'))
    if (head === null || ++this.#parts > MOST_PARTS) return this.#refuse()
    this.#at = end + HEAD_END.length
    this.#state = 'content'
    this.#events.part(head, this.#base + this.#at)
    return true
  }
}

/**
 * The head of one part of a form: the name of the part, and whether it is a file. Readers of forms differ in how they
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
// two runs of blanks beside each other would be divided in every way, which takes seconds for a header full of them
const DISPOSITION = /^form-data((?:[ \t]*;[ \t]*[\w*-]+=(?:"[^"]*"|[^\s";,]+))*)(?:[ \t]*;)?[ \t]*$/i
const PARAMETER = /;[ \t]*([\w*-]+)=(?:"([^"]*)"|([^\s";,]+))/g
const TEXT = /^(?:text\/plain[ \t]*(?:;[ \t]*charset=(?:"utf-8"|utf-8)[ \t]*)?)?$/i
/** A name that every reader takes as it stands: no escapes, nothing but ASCII. */
const NAME = /^[ !#$&-[\]-~]{0,256}$/
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

const FORM = /^multipart\/form-data[ \t]*(?:;|$)/i
/** Letters of a boundary (RFC 2046); a space must not be the last. */
const LETTERS = "[0-9A-Za-z'()+_,\\-./:=?]"
const TOKEN = "[0-9A-Za-z+_\\-.']{1,70}"
const QUOTED = `"(${LETTERS}(?:[ 0-9A-Za-z'()+_,\\-./:=?]{0,68}${LETTERS})?)"`
const CHARSET = '(?:[ \\t]*;[ \\t]*charset=(?:utf-8|"utf-8"))?'
const WHOLE = new RegExp(
  `^multipart/form-data${CHARSET}[ \\t]*;[ \\t]*boundary=(?:(${TOKEN})|${QUOTED})${CHARSET}(?:[ \\t]*;)?[ \\t]*$`,
  'i',
)

/** Tells whether the type says that the body is a form, be it in a spelling that is not read. */
export const isForm = (type: string | undefined): boolean => type !== undefined && FORM.test(type.trimStart())

/**
 * Returns the boundary of a form by its content type; null = the type names none, or not in the one way that is read. That is a type with one boundary, and
 * perhaps the charset that is the usual one. Anything else, two readers could take differently, so that the upstream would
 * find other fields in the form than the gateway did.
 */
export function boundaryOf(type: string | undefined): string | null {
  const found = WHOLE.exec(type ?? '')
  return found === null ? null : (found[1] ?? (found[2] as string))
}
