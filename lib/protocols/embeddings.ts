/** OpenAI-compatible embeddings: a text goes in, a vector comes out, and only the input is charged. */
import { inputOnly } from './input-only.ts'
import { textOrPicture } from './layouts.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import type { Draft } from './requests/facts.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { EMBEDDINGS_ON_VERTEX } from './vertex-embeddings.ts'

/** A text, texts, tokens, or lists of tokens; some upstreams also take objects with a picture. */
const input = textOrPicture({
  nests: true,
  element(draft, { kind, start, end }) {
    if (kind === 'scalar') addToken(draft, end - start)
  },
})

const pictures = new Place({ element: read.pictureUrl.read })

/** A number is one token, however many digits it has. Its digits and the comma behind it are no text. */
function addToken(draft: Draft, digits: number): void {
  draft.prompt.tokens++
  draft.mediaBytes += digits + 1
}

const embeddingsBody = withoutOthers(new Place({ begin: read.writesNothing }))
  .has('model', read.model)
  .has('input', { inside: input })
  // other names of the same at some upstreams
  .has('inputs', { inside: input })
  .has('messages', { inside: input })
  .has('images', { inside: pictures })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))

const PATH = '/v1/embeddings'

export const embeddings: ProtocolRow = {
  place: 6,
  client: bearerClient(clientPath('/embeddings')),
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    gemini: '/v1beta/openai/embeddings',
    azure: '/openai/v1/embeddings',
    'azure-deployments': '/openai/deployments/{model}/embeddings',
    cohere: '/compatibility/v1/embeddings',
    dashscope: '/compatible-mode/v1/embeddings',
    deepinfra: '/v1/openai/embeddings',
    fireworks: '/inference/v1/embeddings',
    hunyuan: PATH,
    mistral: PATH,
    nvidia: PATH,
    openrouter: '/api/v1/embeddings',
    qianfan: '/v2/embeddings',
    siliconflow: PATH,
    together: PATH,
    vertex: EMBEDDINGS_ON_VERTEX,
    volcengine: '/api/v3/embeddings',
    zhipu: '/api/paas/v4/embeddings',
  }),
  body: jsonBody(embeddingsBody),
  ...inputOnly('data'),
}
