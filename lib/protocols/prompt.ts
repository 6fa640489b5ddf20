/**
 * The input of a request, counted by kind (text, pictures, documents, sound, tools). The scan of the body fills it in;
 * the tariff estimates input tokens from it.
 */
export interface Prompt {
  /**
   * Bytes of the body that count as text, JSON syntax included, without the base64 of pictures, sound and documents.
   */
  textBytes: number
  /** Number of tokens that stand in the body as numbers, in the place of text. */
  tokens: number
  /** Number of pictures inside the body. */
  pictures: number
  /** Number of documents and films inside the body. */
  documents: number
  /** The most pages that all of these documents together may have. */
  pages: number
  /** Number of pieces of sound inside the body. */
  sounds: number
  /** The most seconds that all of these pieces together may last. */
  soundS: number
  /** Number of pictures by URL, which the upstream fetches. */
  remotePictures: number
  /**
   * Number of documents, films and sounds by URL, and of earlier answers that are continued. Their size is not known.
   */
  remoteDocuments: number
  /** How often tools that the upstream runs may be used, as far as the request limits their use. */
  toolUses: number
  /** Number of tools that the upstream runs and whose uses the request does not limit. */
  unlimitedTools: number
}

/** How often tools may be used, as far as the request limits their use, and how many tools it does not limit. */
export interface ToolUses {
  uses: number
  unlimited: number
}

export const textOnly = (textBytes: number): Prompt => ({
  textBytes,
  tokens: 0,
  pictures: 0,
  documents: 0,
  pages: 0,
  sounds: 0,
  soundS: 0,
  remotePictures: 0,
  remoteDocuments: 0,
  toolUses: 0,
  unlimitedTools: 0,
})
