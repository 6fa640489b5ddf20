/** What an answer with pictures consists of: where its pictures stand, and the parts into which it is taken apart. */

/** Where the documents of a protocol have pictures. */
export interface PictureMembers {
  /** The top-level array. */
  readonly array: string
  /** The member of its elements that is a picture, and the one that is a link to it. */
  readonly encoded: string
  readonly link: string
}

/** A part of the document. `linked` is what stands there when the picture became a link, else `asIs` does. */
export type Part =
  | { is: 'bytes'; bytes: Buffer }
  /** A picture begins. `asIs` ends with the quote that opens its text; `linked` ends before the link. */
  | { is: 'begin'; asIs: Buffer; linked: Buffer }
  /** `raw`: as it stands in the document; `text`: without the escapes of JSON. */
  | { is: 'data'; raw: Buffer; text: Buffer }
  /** The picture ends, with its closing quote. */
  | { is: 'end' }
  /** A member behind the picture that depends on what became of it. */
  | { is: 'either'; asIs: Buffer; linked: Buffer }

/** Where in some bytes something stands. */
export interface Span {
  at: number
  length: number
}

/** The bytes with other names of members; `names` in their order. */
export function renamed(bytes: Buffer, names: readonly [Span, string][]): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const [{ at, length }, name] of names) {
    pieces.push(bytes.subarray(from, at), Buffer.from(JSON.stringify(name)))
    from = at + length
  }
  return Buffer.concat([...pieces, bytes.subarray(from)])
}
