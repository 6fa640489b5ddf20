/** Places that the bodies of chat and responses requests have in common. */

import type { Draft } from '../draft.ts'
import * as media from '../media-readers.ts'
import { type Frame, HEAD, Place, type PlaceOptions } from '../places.ts'
import * as read from '../readers.ts'
import { modalities, voice } from './modalities.ts'

export const imageUrl = new Place().has('url', { limit: HEAD, read: media.pictureUrl })
const mediaUrl = new Place().has('url', { limit: HEAD, read: media.documentUrl })
/** A document, film or sound, as a URL or an object with a URL. */
export const documentUrl = { limit: HEAD, read: media.documentUrl, inside: mediaUrl }

export const inputAudio = new Place({
  end(draft, frame) {
    media.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', { limit: HEAD, read: media.data })
  .has('format', { read: media.mime })

const metadata = new Place({ free: true }).has('user_id', read.userId)

const cacheOptions = new Place().has('ttl', { read: read.ttl('30m') })

/** A search that the upstream makes, unless the object switches it off. */
export const search = new Place({ end: read.searchTool })
  .has('enable', {
    read(_draft, value, frame) {
      if (!read.isOn(value)) frame.uses = 0
    },
  })
  .has('mode', {
    read(_draft, value, frame) {
      if (read.textOf(value) === 'off') frame.uses = 0
    },
  })

/** Plugins, such as searches, which some upstreams run before they ask the model. */
const plugin = new Place({ element: (draft, _value, frame) => read.searchTool(draft, frame), end: read.searchTool })

/** Tools of the upstream that do not search the web. */
const NO_SEARCH = new Set(['code_interpreter', 'file_search', 'image_generation', 'mcp', 'retrieval', 'shell'])

/** Notes a tool of the upstream. */
export function serverTool(draft: Draft, frame: Frame): void {
  if (NO_SEARCH.has(frame.type)) read.serverTool(draft, frame)
  else read.searchTool(draft, frame)
}

/** The fields that both bodies have at the top. */
export const top = (options: PlaceOptions): Place =>
  new Place(options)
    .has('model', read.model)
    .has('stream', read.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', read.promptCacheKey)
    .has('prompt_cache_retention', { read: read.ttl('in_memory') })
    .has('prompt_cache_options', { inside: cacheOptions })
    // other models that some upstreams ask when the first one fails: their prices are not known here
    .has('models', read.stored('models'))
    .has('fallbacks', read.stored('fallbacks'))
    .has('preset', read.stored('preset'))
    .has('plugins', { inside: plugin })
    .has('modalities', modalities)
    .has('audio', { read: voice })
    .has('service_tier', read.tier('service', 'service_tier'))
