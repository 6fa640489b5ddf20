/**
 * Models that AWS offers in their makers' own APIs: chat completions and responses at Bedrock, those and messages at its second host. The
 * official SDKs ask through the gateway, nothing is translated, and the double judges signatures for the service that each host has.
 */
import t, { type Test } from 'tap'
import { ask, failure, scene as atBedrock } from './support/at-bedrock.ts'
import { MODEL } from './support/gateway.ts'

type Json = Record<string, unknown>
type Scene = Awaited<ReturnType<typeof atBedrock>>

const ID = 'openai.gpt-oss-120b-1:0'
const TEXT = 'Hello!'
const SAYS = /quick brown fox/

interface Host {
  kinds: readonly [signed: string, byKey: string]
  service: string
  protocols: readonly string[]
  paths: Readonly<Record<string, string>>
  more?: Json
}
const HOSTS: Readonly<Record<string, Host>> = {
  'the first host': {
    kinds: ['bedrock', 'bedrock-api-key'],
    service: 'bedrock',
    protocols: ['chat', 'responses'],
    paths: { chat: '/openai/v1/chat/completions', responses: '/openai/v1/responses' },
  },
  'the second host': {
    kinds: ['bedrock-mantle', 'bedrock-mantle-api-key'],
    service: 'bedrock-mantle',
    protocols: ['messages', 'chat', 'responses'],
    paths: { messages: '/anthropic/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' },
  },
  'models of the second host under the longer path': {
    kinds: ['bedrock-mantle', 'bedrock-mantle-api-key'],
    service: 'bedrock-mantle',
    protocols: ['chat', 'responses'],
    paths: { chat: '/openai/v1/chat/completions', responses: '/openai/v1/responses' },
    more: { paths: { chat: '/openai/v1/chat/completions', responses: '/openai/v1/responses' } },
  },
}

/** What a client of the protocol reads. */
const CLIENTS: Readonly<Record<string, (s: Scene, text: string, stream: boolean) => Promise<string>>> = {
  async messages({ anthropic }, text, stream) {
    const answer = stream
      ? await anthropic.messages.stream(ask(text)).finalMessage()
      : await anthropic.messages.create(ask(text))
    const [block] = answer.content
    return block?.type === 'text' ? block.text : ''
  },
  async chat({ openai }, text, stream) {
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: text }] }
    const answer = stream
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.create(body)
    return answer.choices[0]?.message.content ?? ''
  },
  async responses({ openai }, text, stream) {
    const body = { model: MODEL, input: text }
    const answer = stream ? await openai.responses.stream(body).finalResponse() : await openai.responses.create(body)
    return answer.output_text
  },
}

async function scene(t: Test, { protocols, service, more }: Host, byKey: string | null, kind: string) {
  const models = { [MODEL]: ID }
  const credential = byKey === null ? {} : { aws: undefined, key: byKey }
  const s = await atBedrock(t, [{ kind, protocols, models, ...credential, ...more }], { retriesFloor: 0 })
  s.double.keys.service = service
  return s
}

const KEY_OF_AWS = 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t'

for (const [name, host] of Object.entries(HOSTS)) {
  for (const [i, kind] of host.kinds.entries()) {
    t.test(`${name}, ${kind}`, async t => {
      const s = await scene(t, host, i === 0 ? null : KEY_OF_AWS, kind)
      for (const protocol of host.protocols) {
        for (const stream of [false, true]) {
          t.match(await CLIENTS[protocol]?.(s, TEXT, stream), SAYS, `${protocol} ${stream}`)
          const last = s.double.asked.at(-1)
          t.equal(last?.url, host.paths[protocol])
          t.equal(last?.body['model'], ID)
          t.match(
            String(last?.headers.authorization),
            i === 0 ? 'AWS4-HMAC-SHA256 Credential=' : `Bearer ${KEY_OF_AWS}`,
          )
          if (i === 0) t.match(last?.headers.authorization, `/eu-west-1/${host.service}/aws4_request`)
        }
      }
      const rows = await s.same(t)
      t.equal(rows.length, host.protocols.length * 2)
      t.ok(
        rows.every(({ via }) => via === null),
        'nothing is translated',
      )
    })
  }

  t.test(`${name}: what AWS itself refuses is told in the form of the protocol`, async t => {
    const s = await scene(t, host, null, host.kinds[0])
    s.double.keys.service = 'another'
    const said = () => JSON.stringify(s.logged)
    for (const protocol of host.protocols) {
      for (const stream of [false, true]) {
        const error = await failure(CLIENTS[protocol]?.(s, TEXT, stream) ?? Promise.resolve())
        t.match(error, { status: 502 }, `${protocol} ${stream}`)
        s.health.rests.forget('b0')
      }
    }
    t.match(said(), /the secret access key or the region/)
    t.notMatch(said(), s.double.keys.secretAccessKey)
    t.notMatch(said(), s.double.keys.sessionToken ?? '-')
    t.same(await s.failed(t).then(rows => rows.filter(({ charge }) => charge !== 0)), [])
  })
}
