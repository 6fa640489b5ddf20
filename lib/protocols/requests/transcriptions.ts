/**
 * The places of a transcription's form in which something matters. Each file is measured, whatever it is called. Sound that is
 * not in the form, but at an address or in a store of the upstream, cannot be measured and is refused.
 */
import { formBody } from '../form-body.ts'
import { Place } from '../places.ts'
import * as read from '../readers.ts'

const place = new Place({
  // where no sound was sent, an upstream would fetch it by a name that only this upstream knows
  end(draft) {
    if (draft.prompt.sounds === 0) draft.invalid ??= 'file'
  },
})
  .has('model', read.model)
  .has('stream', read.stream)
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('file', {
    // some readers would take a field without a file name for a file
    read(draft) {
      draft.invalid ??= 'file'
    },
  })
for (const name of ['url', 'file_url', 'audio_url', 'cloud_storage_url', 'source_url', 'file_id'])
  place.has(name, read.stored(name))

export const transcriptionsBody = formBody({
  place,
  files: ['file'],
  hears: true,
  upload(draft, { seconds, bytes }) {
    draft.uploadS += seconds
    draft.uploadBytes += bytes
    draft.prompt.sounds++
    draft.prompt.soundS += Math.ceil(seconds)
  },
})
