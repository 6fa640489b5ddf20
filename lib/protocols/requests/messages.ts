/** The body of a messages request. */
import * as d from '../draft.ts'
import { HEAD, Place } from '../places.ts'

const cacheControl = new Place({
  begin: draft => {
    draft.cacheTtl ??= '5m'
  },
}).has('ttl', { read: d.ttl('5m') })

const source = new Place({
  end(draft, frame) {
    if (frame.dataLength > 0 && frame.type === 'base64') d.inline(draft, frame.mime, frame.dataLength)
    if (frame.owner !== null) frame.owner.urls += frame.urls
  },
})
  .has('type', { read: d.type })
  .has('media_type', { read: d.mime })
  .has('data', { limit: HEAD, read: d.data })
  .has('url', { read: d.url })
  .has('file_id', d.stored('file_id'))

const block = new Place({
  end(draft, { type, urls }) {
    if (type === 'image') draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
    // what a tool made in its container is named by its result too, where it opens nothing
    if (type === 'container_upload') draft.invalid ??= 'file_id'
  },
})
  .has('type', { read: d.type })
  .has('source', { inside: source })
  .has('cache_control', { inside: cacheControl })
block.has('content', { inside: block })
source.has('content', { inside: block })

const message = new Place().has('content', { inside: block })

const CLIENT_TOOLS = /^(custom|bash_|text_editor_|computer_|memory_|browser_toolset_|tool_search_tool_|mcp_toolset|$)/

const tool = new Place({
  end(draft, frame) {
    if (CLIENT_TOOLS.test(frame.type)) return
    d.serverTool(draft, frame)
    if (frame.type.startsWith('advisor_')) draft.advisors.push({ uses: frame.uses, maximum: frame.maximum })
  },
})
  .has('type', { read: d.type })
  .has('max_uses', { read: d.uses })
  .has('model', d.otherModel)
  .has('max_tokens', {
    read(_draft, value, frame) {
      frame.maximum = d.amountOf(value)
    },
  })
  .has('cache_control', { inside: cacheControl })
  .has('caching', { inside: cacheControl })

const server = new Place({ end: d.serverTool })

const fallback = new Place()
  .has('model', d.otherModel)
  .has('max_tokens', { read: d.maximum })
  .has('speed', d.tier('speed', 'standard'))

const container = new Place().has('id', d.stored('container'))
const thread = new Place().has('previous_message_id', d.stored('thread'))
// of a turn with tools it may be more than the maximum
const thinking = new Place().has('budget_tokens', { read: d.maximum })
const metadata = new Place({ free: true }).has('user_id', d.userId)

export const messages = new Place()
  .has('model', d.model)
  .has('stream', d.stream)
  .has('max_tokens', {
    read(draft, value, frame) {
      d.maximum(draft, value, frame)
      // nothing is written: such a request warms a cache
      if (d.amountOf(value) === 0) draft.maximum ??= 0
    },
  })
  .has('messages', { inside: message })
  .has('system', { inside: block })
  .has('tools', { inside: tool })
  .has('mcp_servers', { inside: server })
  .has('fallbacks', {
    limit: d.LONGEST_NAME,
    // as a text it names whatever the upstream falls back to
    read: (draft, value) => value.kind === 'string' && d.otherModel.read(draft, value),
    inside: fallback,
  })
  .has('container', { ...d.stored('container'), inside: container })
  .has('thread', { inside: thread })
  .has('thinking', { inside: thinking })
  .has('cache_control', { inside: cacheControl })
  .has('metadata', { inside: metadata })
  .has('service_tier', d.tier('service_tier', ...d.PLAIN_TIERS))
  .has('speed', d.tier('speed', 'standard'))
  .has('inference_geo', d.tier('inference_geo', 'global'))
