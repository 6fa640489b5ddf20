/** The places of a speech request's body in which something matters: the text above all, which is charged by its characters. */
import { scalarOf } from '../json/text.ts'
import { Place, type Value } from '../places.ts'
import * as read from '../readers.ts'

/** No upstream speaks so long a text at once. */
const LONGEST_TEXT_BYTES = 1024 * 1024
/** What upstreams send as `pcm`: 24,000 samples of 16 bits in a second, unless `sample_rate` asks for fewer. */
const PCM_SAMPLES_PER_S = 24_000
const SAMPLE_BYTES = 2
/** The fewest samples that upstreams offer. */
const FEWEST_SAMPLES_PER_S = 8_000
/** The slowest speech that upstreams offer, as a share of the usual speed. */
const SLOWEST = 0.25

export const speechBody = new Place({
  end(draft) {
    if (draft.soundBytesPerS === null || draft.samplesPerS === null) return
    draft.soundBytesPerS = Math.max(FEWEST_SAMPLES_PER_S, draft.samplesPerS) * SAMPLE_BYTES
  },
})
  .has('model', read.model)
  .has('input', {
    limit: LONGEST_TEXT_BYTES,
    read(draft, value) {
      const text = read.textOf(value)
      if (text === null) draft.invalid ??= 'input'
      else draft.characters = codePoints(text)
    },
  })
  .has('speed', {
    read(draft, value) {
      draft.pace = Math.min(draft.pace, paceOf(value))
    },
  })
  .has('response_format', {
    read(draft, value) {
      if (read.textOf(value) === 'pcm') draft.soundBytesPerS = PCM_SAMPLES_PER_S * SAMPLE_BYTES
    },
  })
  .has('sample_rate', {
    read(draft, value) {
      // more samples than usual count as usual: who does not read the field sends no more
      draft.samplesPerS = Math.min(PCM_SAMPLES_PER_S, read.numberIn(value) ?? PCM_SAMPLES_PER_S)
    },
  })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('stream_format', {
    read(draft, value) {
      draft.stream = read.textOf(value) === 'sse'
    },
  })

/** How many characters a text has; half of a pair that lacks its other half counts as one. */
function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** A speed that is no number may be read in any way by the upstream, so that it counts as the slowest. */
function paceOf({ kind, text }: Value): number {
  const speed = kind === 'scalar' && text !== null ? scalarOf(text) : undefined
  if (speed === null) return 1
  return typeof speed === 'number' && speed >= SLOWEST ? speed : SLOWEST
}
