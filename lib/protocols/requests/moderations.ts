/** The places of a moderations request's body in which something matters. */
import { Place } from '../places.ts'
import * as read from '../readers.ts'
import { textOrPicture } from './texts.ts'

export const moderationsBody = new Place({ begin: read.writesNothing })
  .has('model', read.model)
  .has('input', { inside: textOrPicture() })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
