/** Random exchanges of all four protocols, native and translated: everything that says what an answer cost says the same. */
import type { Test } from 'tap'
import { formatMicro } from '../../../lib/base/money.ts'
import type { UsageRow } from '../../../lib/terms/usage-row.ts'
import { chargeOfLines } from '../../support/receipt.ts'
import { seeded } from '../../support/random.ts'
import { asks, FOUR, type Four, SENT } from './four.ts'
import { KEY, open, type Scene } from './gateway.ts'
import type { Script } from './upstream.ts'

/** An upstream that reports so many tokens, in a document or a stream as it is asked. */
const sentWith =
  (native: Four, input: number, output: number): Script =>
  call => {
    const { start, text, rest, document } = SENT[native]
    const put = (sent: string) =>
      sent
        .replaceAll(/"(input_tokens|prompt_tokens|promptTokenCount)":\d+/g, `"$1":${input}`)
        .replaceAll(/"(output_tokens|completion_tokens|candidatesTokenCount)":10\b/g, `"$1":${output}`)
        .replaceAll(/"(total_tokens|totalTokenCount)":\d+/g, `"$1":${input + output}`)
    if (!/"stream":true/.test(call.body) && !/streamGenerateContent/.test(call.head)) {
      call.whole(200, put(JSON.stringify(document)))
      return
    }
    call.stream()
    for (const piece of [start, text, rest]) call.chunk(put(piece))
    call.end()
  }

/** `books` reads a thousand rows. */
const IN_A_SCENE = 900
const AT_ONCE = 12

export async function randomCosts(t: Test, exchanges: number): Promise<void> {
  const random = seeded(t)
  for (let left = exchanges; left > 0; left -= IN_A_SCENE) {
    const channels = Object.fromEntries(FOUR.map(native => [native, { protocols: [native], models: [`to-${native}`] }]))
    const price = { input: '3.333333', output: '15.100001', cache_read: '0.3' }
    const prices = Object.fromEntries(FOUR.map(native => [`to-${native}`, price]))
    const s = await open(t, { channels, prices, credit: 1_000_000_000 })
    const told = new Map<string, string>()
    const wanted = Math.min(left, IN_A_SCENE)
    while (told.size < wanted) {
      for (const native of FOUR) s.at(native).script = sentWith(native, random.int(1, 5000), random.int(1, 90))
      const batch = Array.from({ length: Math.min(AT_ONCE, wanted - told.size) }, () =>
        costTold(s, random.pick(FOUR), `to-${random.pick(FOUR)}`, random.next() < 0.5),
      )
      for (const [id, amount] of await Promise.all(batch)) told.set(id, amount)
    }
    await compare(t, s, told)
  }
}

/** The id of an exchange, and what its head or its stream says that it cost. */
async function costTold(s: Scene, protocol: Four, model: string, stream: boolean): Promise<[string, string]> {
  const client = s.ask(asks(protocol, model, { stream, headers: { 'x-gateway-cost': 'stream' } }))
  await client.end()
  const { headers, body } = client.answer
  const inStream = /"cost":([\d.e-]+)/.exec(body)?.[1]
  const amount = stream ? (inStream === undefined ? '' : Number(inStream).toFixed(6)) : headers.get('x-gateway-charge')
  return [headers.get('x-request-id') ?? '', amount ?? '']
}

async function compare(t: Test, s: Scene, told: ReadonlyMap<string, string>): Promise<void> {
  const { rows, ok } = await s.books()
  t.ok(ok, 'the books are right')
  t.equal(rows.length, told.size)
  const wrong: string[] = []
  for (const row of rows) {
    const amount = formatMicro(row.charge)
    const others = [
      told.get(row.requestId),
      formatMicro(chargeOfLines(row as UsageRow)),
      await generation(s, row.requestId),
    ]
    if (row.charge === 0 || others.some(one => one !== amount)) wrong.push(`${row.requestId}: ${amount}, ${others}`)
  }
  t.same(wrong, [])
}

async function generation(s: Scene, id: string): Promise<string> {
  const answer = await fetch(`${s.urls.direct}/v1/generation?id=${id}`, { headers: { authorization: `Bearer ${KEY}` } })
  const { data } = (await answer.json()) as { data: { total_cost: number } }
  return data.total_cost.toFixed(6)
}
