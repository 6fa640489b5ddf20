/** Several answers to a translated request cost as many maxima in the hold as they are, and what all of them took. */
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS } from './support/gateway.ts'

const OUTPUT_PRICE = 8
const candidate = (index: number) => ({
  content: { role: 'model', parts: [{ text: `answer ${index}` }] },
  finishReason: 'STOP',
  index,
})
const message = (index: number) => ({
  index,
  message: { role: 'assistant', content: `answer ${index}` },
  finish_reason: 'stop',
})
const ROWS = {
  'chat by generate-content': {
    protocol: 'generate',
    ask: {
      path: PATHS.chat,
      body: { model: MODEL, max_tokens: 100, n: 3, messages: [{ role: 'user', content: 'q' }] },
    },
    asked: { generationConfig: { candidateCount: 3, maxOutputTokens: 100 } },
    answer: {
      candidates: [0, 1, 2].map(candidate),
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 30, totalTokenCount: 130 },
    },
    told: { choices: [0, 1, 2].map(message), usage: { completion_tokens: 30 } },
  },
  'generate-content by chat': {
    protocol: 'chat',
    ask: {
      path: `/v1beta/models/${MODEL}:generateContent`,
      body: {
        contents: [{ role: 'user', parts: [{ text: 'q' }] }],
        generationConfig: { maxOutputTokens: 100, candidateCount: 3 },
      },
    },
    asked: { n: 3, max_tokens: 100 },
    answer: { id: 'c', choices: [0, 1, 2].map(message), usage: { prompt_tokens: 100, completion_tokens: 30 } },
    told: { candidates: [0, 1, 2].map(candidate), usageMetadata: { candidatesTokenCount: 30 } },
  },
} as const

for (const [what, { protocol, ask, asked, answer, told }] of Object.entries(ROWS))
  t.test(what, async t => {
    const s = await open(t, { channels: { a: { protocols: [protocol] } } })
    const asking = s.ask({ ...ask, headers: HEADERS })
    const call = await s.at('a').call()
    t.match(JSON.parse(call.body), asked)
    const held = s.services.ledger.heldTotal
    t.ok(held >= 3 * 100 * OUTPUT_PRICE, `three times the maximum is held: ${held}`)
    call.whole(200, answer)
    t.equal(await asking.end(), 'whole')
    t.match(JSON.parse(asking.text), told)
    const { rows, left, ok } = await s.books()
    t.match(rows, [{ via: protocol, basis: 'reported', output: 30, charge: 100 * 2 + 30 * OUTPUT_PRICE }])
    t.same([left, ok], [NOTHING_LEFT, true])
  })
