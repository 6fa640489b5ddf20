/** The body of an images request. */
import * as d from '../draft.ts'
import { HEAD, Place } from '../places.ts'

/** One picture, or several, as URLs or objects with one. */
const picture = new Place({ element: d.pictureUrl })
  .has('image_url', { limit: HEAD, read: d.pictureUrl })
  .has('url', { limit: HEAD, read: d.pictureUrl })
  .has('file_id', d.stored('file_id'))

const pictures = { limit: HEAD, read: d.pictureUrl, inside: picture }

export const images = new Place()
  .has('model', d.model)
  .has('stream', d.stream)
  .has('n', { read: d.answers })
  .has('image', pictures)
  .has('images', pictures)
  .has('mask', pictures)
