/**
 * Units of search, by which rerank requests are billed: an upstream splits each document, together with the query, into pieces of
 * some 500 tokens, and a unit is a hundred of these. A token has at least a byte, so that no request comes to more units than are
 * counted here. The query may stand behind the documents, so what remains of their lengths is counted until it is known.
 */
const PIECE_BYTES = 500
const PIECES_A_UNIT = 100

export class SearchUnits {
  #whole = 0
  /** How many documents there are by the bytes that remain of them. */
  readonly #remains = new Map<number, number>()
  queryBytes = 0

  add(documentBytes: number): void {
    const remains = documentBytes % PIECE_BYTES
    this.#whole += (documentBytes - remains) / PIECE_BYTES
    this.#remains.set(remains, (this.#remains.get(remains) ?? 0) + 1)
  }

  /** The most that the request can come to; at least 1. */
  get most(): number {
    let pieces = this.#whole
    for (const [remains, documents] of this.#remains)
      pieces += documents * Math.ceil((remains + this.queryBytes) / PIECE_BYTES)
    return Math.max(1, Math.ceil(pieces / PIECES_A_UNIT))
  }
}
