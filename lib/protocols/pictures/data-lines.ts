/**
 * Takes the data out of the lines of an event stream, in the pieces in which it comes. No line is kept, however long.
 */
const LF = 0x0a
const FIELD = 'data:'
const BOM = '\u00ef\u00bb\u00bf'

export interface DataSink {
  /**
   * Is called with each piece of an event's data. The line ends between several data lines of one event are left out.
   */
  data(text: string): void
  endEvent(): void
}

export class DataLines {
  readonly #sink: DataSink
  /** How many characters of `data:` the current line has so far; -1 = it is another line. */
  #intro = 0
  #afterReturn = false
  #atStart = true
  /** Whether nothing of an event has come since the last event ended. */
  atBoundary = false

  constructor(sink: DataSink) {
    this.#sink = sink
  }

  /** `text`: bytes as Latin-1. A line ends in LF, CR or both. */
  feed(text: string): void {
    let from = 0
    if (this.#afterReturn && text !== '') {
      this.#afterReturn = false
      if (text.charCodeAt(0) === LF) from = 1
    }
    let lineFeed = -1
    let carriageReturn = -1
    while (from < text.length) {
      if (lineFeed < from) lineFeed = indexOr(text, '\n', from)
      if (carriageReturn < from) carriageReturn = indexOr(text, '\r', from)
      const end = Math.min(lineFeed, carriageReturn)
      if (end > from) this.#part(text.slice(from, end))
      if (end === text.length) return
      this.#endLine()
      from = end + 1
      if (end !== carriageReturn) continue
      if (from === text.length) this.#afterReturn = true
      else if (text.charCodeAt(from) === LF) from++
    }
  }

  #part(part: string): void {
    let i = 0
    for (; i < part.length && this.#intro >= 0 && this.#intro < FIELD.length; i++) {
      const c = part[i] as string
      if (this.#atStart && BOM.includes(c)) continue
      this.#atStart = false
      this.#intro = c === FIELD[this.#intro] ? this.#intro + 1 : -1
    }
    this.atBoundary = false
    if (this.#intro === FIELD.length && i < part.length) this.#sink.data(part.slice(i))
  }

  #endLine(): void {
    this.#atStart = false
    this.atBoundary = this.#intro === 0
    if (this.atBoundary) this.#sink.endEvent()
    this.#intro = 0
  }
}

/** Returns where `what` is found from `from` on; the length of the text = nowhere. */
function indexOr(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from)
  return at < 0 ? text.length : at
}
