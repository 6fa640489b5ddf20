/** The body of an images request. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'

/** One picture, or several, as URLs or objects with one. */
const picture = new Place({ element: read.pictureUrl })
  .has('image_url', { limit: HEAD, read: read.pictureUrl })
  .has('url', { limit: HEAD, read: read.pictureUrl })
  .has('file_id', read.stored('file_id'))

const pictures = { limit: HEAD, read: read.pictureUrl, inside: picture }

export const images = new Place()
  .has('model', read.model)
  .has('stream', read.stream)
  .has('n', { read: read.answers })
  .has('image', pictures)
  .has('images', pictures)
  .has('mask', pictures)
