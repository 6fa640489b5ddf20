/**
 * Finds the last time stamp in a text that passes: in segments and words of JSON (`"end": 3.2`), and in subtitles
 * (`00:00:01,000 --> 00:00:03,200`). Only the end of the text is kept, in which a stamp may have begun.
 */

/** The value must be followed by something, so that no number counts of which only a part has come. */
const IN_JSON = /"end"\s{0,4}:\s{0,4}(\d{1,9}(?:\.\d{0,20})?)(?=[\s,}\]])/g
const IN_SUBTITLES =
  /(?:\d{1,6}:)?\d\d:\d\d[.,]\d{3}[ \t]{1,4}-->[ \t]{1,4}(?:(\d{1,6}):)?(\d\d):(\d\d[.,]\d{3})(?=\D)/g
const LONGEST = 80

export class Stamps {
  readonly #pattern: RegExp
  #tail = ''
  /** In seconds; 0 = there is none. */
  last = 0

  constructor(isJson: boolean) {
    this.#pattern = isJson ? IN_JSON : IN_SUBTITLES
  }

  /** `text`: bytes as Latin-1. */
  feed(text: string): void {
    const all = this.#tail + text
    for (const [, first = '0', minutes, seconds] of all.matchAll(this.#pattern)) {
      const value =
        minutes === undefined
          ? Number(first)
          : Number(first) * 3600 + Number(minutes) * 60 + Number(seconds?.replace(',', '.'))
      if (value > this.last) this.last = value
    }
    this.#tail = all.slice(-LONGEST)
  }
}
