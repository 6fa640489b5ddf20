/** What a request brings to its model, as far as its body tells: what an estimate of its input is made of. */
export interface Prompt {
  /** Bytes of the body that are read as text, JSON's own included; base64 of pictures, sound and documents is not in it. */
  textBytes: number
  /** Pictures that stand in the body. */
  pictures: number
  /** Documents and films that stand in the body, and the pages they may have, all together. */
  documents: number
  pages: number
  /** Pieces of sound that stand in the body, and the seconds they may last, all together. */
  sounds: number
  soundS: number
  /** Pictures by URL, which the upstream fetches. */
  remotePictures: number
  /** Documents, films and sound by URL, and earlier answers that are continued: things of any size. */
  remoteDocuments: number
  /** How often the upstream's own tools may be used, where the request says so. */
  toolUses: number
  /** Tools of the upstream whose uses the request does not limit. */
  unlimitedTools: number
}

export const textOnly = (textBytes: number): Prompt => ({
  textBytes,
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
