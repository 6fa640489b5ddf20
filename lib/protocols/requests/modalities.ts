/**
 * What a request says of the answer's content: text, sound or pictures. A word that cannot be read, or that is not known,
 * stands for everything, so that no answer costs more than was expected of it.
 */
import type { Draft } from '../draft.ts'
import { type FieldOptions, Place, type Read } from '../places.ts'
import * as read from '../readers.ts'

const NO_SOUND = ['text', 'image']
const NO_PICTURES = ['text', 'audio']

function note(draft: Draft, name: string): void {
  draft.sound = draft.sound === true || !NO_SOUND.includes(name)
  draft.pictures = draft.pictures === true || !NO_PICTURES.includes(name)
}

const UNREADABLE = ''

/** A list of words. */
export const modalities: FieldOptions = {
  read(draft, value) {
    if (!read.isNull(value)) note(draft, UNREADABLE)
  },
  inside: new Place({
    begin: draft => note(draft, UNREADABLE),
    element: (draft, value) => note(draft, read.textOf(value)?.toLowerCase() ?? UNREADABLE),
  }),
}

/** Reads how the answer is to be spoken. */
export const voice: Read = (draft, value) => {
  if (read.isOn(value)) draft.sound = true
}
