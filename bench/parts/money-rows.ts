/**
 * Makes random exchanges with the gateway of a checkout, in this process, and prints a digest of what its books say of them: of every
 * row all but its id and its times. Arguments: the checkout, the seed, how many exchanges. The same exchanges of two checkouts have
 * the same digest where they charge the same.
 */
import { createHash } from 'node:crypto'
import type * as FourModule from '../../test/exchange/support/four.ts'
import type * as GatewayModule from '../../test/exchange/support/gateway.ts'
import type { Script } from '../../test/exchange/support/upstream.ts'
import { type Random, withSeed } from '../../test/support/random.ts'

const [root, seed, exchanges] = process.argv.slice(2) as [string, string, string]
const { asks, FOUR, SENT } = (await import(`${root}/test/exchange/support/four.ts`)) as typeof FourModule
const { open } = (await import(`${root}/test/exchange/support/gateway.ts`)) as typeof GatewayModule
type Four = (typeof FOUR)[number]

/** What differs between two runs: ids and times. */
const OWN = new Set(['requestId', 'bookedAtMs', 'firstByteMs', 'durationMs', 'askedMs', 'ms'])
/** `books` reads a thousand rows. */
const IN_A_SCENE = 900

/** Members that a usage may have beside input and output, each present as often as not. */
const BESIDE: Record<Four, readonly ((some: (most: number) => number) => object)[]> = {
  chat: [
    some => ({
      prompt_tokens_details: { cached_tokens: some(900), audio_tokens: some(3), cache_write_tokens: some(90) },
    }),
    some => ({ completion_tokens_details: { reasoning_tokens: some(40), audio_tokens: some(3) } }),
    some => ({ prompt_cache_hit_tokens: some(500) }),
    some => ({ cached_tokens: some(500) }),
    some => ({ cache_creation_input_tokens: some(200) }),
    some => ({ citation_tokens: some(50), num_search_queries: some(2) }),
    some => ({ server_side_tool_usage_details: { web_search_calls: some(2), x_search_calls: some(2) } }),
  ],
  messages: [
    some => ({ cache_read_input_tokens: some(900) }),
    some => ({ cache_creation_input_tokens: some(300) }),
    some => ({ cache_creation: { ephemeral_1h_input_tokens: some(300), ephemeral_5m_input_tokens: some(300) } }),
    some => ({ server_tool_use: { web_search_requests: some(2) } }),
  ],
  responses: [
    some => ({ input_tokens_details: { cached_tokens: some(900), cache_write_tokens: some(90) } }),
    some => ({ output_tokens_details: { reasoning_tokens: some(40) } }),
    some => ({ num_sources_used: some(2) }),
  ],
  generate: [
    some => ({ cachedContentTokenCount: some(900) }),
    some => ({ thoughtsTokenCount: some(40) }),
    some => ({ toolUsePromptTokenCount: some(50) }),
  ],
}

/** An upstream whose answers report by chance, and sometimes nothing. */
function sentBy(random: Random, native: Four): Script {
  const some = (most: number): number => random.int(0, most)
  const [input, output] = [some(5000), some(90)]
  const members = BESIDE[native].filter(() => random.next() < 0.5).map(make => JSON.stringify(make(some)).slice(1, -1))
  const isSilent = random.next() < 0.1
  const put = (sent: string): string =>
    isSilent
      ? sent.replaceAll(/"(usage|usageMetadata)"/g, '"nothing"')
      : sent
          .replaceAll(/"(usage|usageMetadata)":\{/g, ['"$1":{', ...members.map(member => `${member},`)].join(''))
          .replaceAll(/"(input_tokens|prompt_tokens|promptTokenCount)":\d+/g, `"$1":${input}`)
          .replaceAll(/"(output_tokens|completion_tokens|candidatesTokenCount)":10\b/g, `"$1":${output}`)
          .replaceAll(/"(total_tokens|totalTokenCount)":\d+/g, `"$1":${input + output + some(1) * some(60)}`)
  return call => {
    const { start, text, rest, document } = SENT[native]
    if (!/"stream":true/.test(call.body) && !/streamGenerateContent/.test(call.head)) {
      call.whole(200, put(JSON.stringify(document)))
      return
    }
    call.stream()
    for (const piece of [start, text, rest]) call.chunk(put(piece))
    call.end()
  }
}

const random = withSeed(Number(seed))
const digest = createHash('sha256')
let chargedMicro = 0
for (let left = Number(exchanges); left > 0; left -= IN_A_SCENE) {
  const teardowns: (() => Promise<void>)[] = []
  const price = () => ({
    input: String(random.int(0, 20_000) / 1000),
    output: String(random.int(1, 90_000) / 1000),
    cache_read: String(random.int(0, 5000) / 1000),
    web_search: String(random.int(0, 900) / 1000),
    over: [{ tokens: random.int(100, 4000), input: String(random.int(0, 40_000) / 1000), output: '17.3' }],
  })
  const scene = await open(
    { teardown: fn => teardowns.push(fn) },
    {
      channels: Object.fromEntries(FOUR.map(native => [native, { protocols: [native], models: [`to-${native}`] }])),
      prices: Object.fromEntries(FOUR.map(native => [`to-${native}`, price()])),
      credit: 1_000_000_000,
    },
  )
  const wanted = Math.min(left, IN_A_SCENE)
  // one after the other: what is held follows from what was learned of the answers before
  for (let made = 0; made < wanted; made++) {
    const native = random.pick(FOUR)
    scene.at(native).script = sentBy(random, native)
    const headers = { 'x-client-request-id': String(made).padStart(6, '0') }
    await scene.ask(asks(random.pick(FOUR), `to-${native}`, { stream: random.next() < 0.5, headers })).end()
  }
  const { rows, ok } = await scene.books()
  if (!ok) throw new Error('the books are not right')
  for (const row of rows.toSorted((a, b) => Number(a.clientRequestId) - Number(b.clientRequestId))) {
    digest.update(JSON.stringify(row, (name, value) => (OWN.has(name) ? undefined : value)))
    chargedMicro += row.charge
  }
  for (const teardown of teardowns) await teardown()
}
console.log(JSON.stringify({ digest: digest.digest('hex'), chargedMicro }))
process.exit(0)
