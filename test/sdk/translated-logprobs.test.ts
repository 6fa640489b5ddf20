/**
 * How likely the tokens of an answer were, from an upstream that tells it to a client of another protocol, who asks and reads by the SDK of
 * its vendor. Both know the text of an answer, of which the simulator makes its numbers (`likely`).
 */
import { GoogleGenAI, type LogprobsResult } from '@google/genai'
import t from 'tap'
import { likely } from '../../tools/simulator/logprobs.ts'
import { KEY } from '../support/gateway.ts'
import { AT, openTranslated, type Via } from './support/translated.ts'

const { gateway, openai, same } = await openTranslated(t)
const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })

interface Told {
  token: string
  logprob: number
  bytes: number[] | null
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[]
}
/** A text as its client was told it, with its tokens. */
interface Likely {
  text: string
  tokens: Told[]
}
type Client = Exclude<Via, 'messages'>

const CLIENTS: Record<Client, (via: Client, streams: boolean, top: number) => Promise<Likely>> = {
  async chat(via, streams, top) {
    const ask = {
      model: AT[via],
      logprobs: true,
      top_logprobs: top,
      messages: [{ role: 'user' as const, content: 'Hello!' }],
    }
    const whole = streams
      ? await openai.chat.completions.stream({ ...ask, stream_options: { include_usage: true } }).finalChatCompletion()
      : await openai.chat.completions.create(ask)
    const [choice] = whole.choices
    return { text: choice?.message.content ?? '', tokens: choice?.logprobs?.content ?? [] }
  },
  async responses(via, streams, top) {
    const include = ['message.output_text.logprobs' as const]
    const ask = { model: AT[via], include, top_logprobs: top, input: 'Hello!' }
    const whole = streams ? await openai.responses.stream(ask).finalResponse() : await openai.responses.create(ask)
    const part = whole.output.flatMap(item => (item.type === 'message' ? item.content : []))[0]
    if (part?.type !== 'output_text') throw new Error('no text')
    return { text: part.text, tokens: part.logprobs ?? [] }
  },
  async generate(via, streams, top) {
    const config = { responseLogprobs: true, ...(top === 0 ? {} : { logprobs: top }) }
    const ask = { model: AT[via], contents: 'Hello!', config }
    const chunks = []
    if (streams) for await (const chunk of await google.models.generateContentStream(ask)) chunks.push(chunk)
    else chunks.push(await google.models.generateContent(ask))
    const told = chunks.map(chunk => chunk.candidates?.[0])
    return {
      text: chunks.map(chunk => chunk.text ?? '').join(''),
      tokens: told.flatMap(candidate => tokensOf(candidate?.logprobsResult)),
    }
  },
}

/** The bytes of tokens, of which the protocol tells none, are those of their texts. */
function tokensOf({ chosenCandidates = [], topCandidates = [] }: LogprobsResult = {}): Told[] {
  const tokenOf = ({ token = '', logProbability = 0 }) => ({
    token,
    logprob: logProbability,
    bytes: [...Buffer.from(token)],
  })
  return chosenCandidates.map((one, at) => ({
    ...tokenOf(one),
    top_logprobs: (topCandidates[at]?.candidates ?? []).map(tokenOf),
  }))
}

for (const client of ['chat', 'responses', 'generate'] as const)
  for (const via of ['chat', 'responses', 'generate'] as const)
    if (client !== via)
      for (const [streams, top] of [
        [false, 2],
        [true, 3],
        [false, 0],
        [true, 0],
      ] as const)
        t.test(`${client} by ${via}, ${streams ? 'a stream' : 'whole'}, ${top} alternatives`, async t => {
          const { text, tokens } = await CLIENTS[client](via, streams, top)
          t.equal(tokens.map(({ token }) => token).join(''), text, 'the tokens are those of the text')
          t.ok(tokens.length > 5, `${tokens.length} tokens`)
          t.match(
            tokens,
            likely(
              tokens.map(({ token }) => token),
              top,
            ),
          )
          t.ok(tokens.every(({ top_logprobs }) => top_logprobs.length === top))
          await same(t, client, via)
        })

t.test('a client that asks for none is told none', async t => {
  const { choices } = await openai.chat.completions.create({
    model: AT.responses,
    messages: [{ role: 'user', content: 'Hello!' }],
  })
  t.equal(choices[0]?.logprobs ?? null, null)
})
