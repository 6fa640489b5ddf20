/** OpenAI-compatible moderations: texts and pictures are judged, and most upstreams report no usage. */
import { inputOnly } from './input-only.ts'
import { textOrPicture } from './layouts.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'

const moderationsBody = withoutOthers(new Place({ begin: read.writesNothing }))
  .has('model', read.model)
  .has('input', { inside: textOrPicture() })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))

const PATH = '/v1/moderations'

export const moderations: ProtocolRow = {
  place: 8,
  client: bearerClient(clientPath('/moderations')),
  upstream: openAiUpstream(PATH, { openai: PATH, mistral: PATH }),
  body: jsonBody(moderationsBody),
  ...inputOnly('results'),
}
