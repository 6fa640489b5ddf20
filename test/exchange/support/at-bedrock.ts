/** A gateway whose channels are at a double of Bedrock, and the official SDKs as its clients. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { simulate } from '../../../tools/simulator/main.ts'
import { Bedrock } from '../../support/bedrock.ts'
import { seeded } from '../../support/random.ts'
import { KEY, MODEL, NOTHING_LEFT, OTHER_KEY, type Options, open } from './gateway.ts'

type Json = Record<string, unknown>
/** Of a profile, as most models there are asked. */
export const ARN = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123xyz'
export const ID = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** A gateway whose channels are all at one double; `change`: what differs in them. */
export async function scene(t: Test, changes: readonly Json[] = [{}], options: Options = {}) {
  const simulator = await simulate()
  t.teardown(() => simulator.close())
  const at = { now: () => 0 }
  const double = await Bedrock.open(t, { simulator: simulator.url, random: seeded(t), now: () => at.now() })
  double.models.add(ID).add(ARN)
  const models = { [MODEL]: ID, profile: ARN }
  const channels = Object.fromEntries(
    changes.map((change, i) => [`b${i}`, { key: undefined, models, ...double.channel(change) }]),
  )
  const s = await open(t, { models: ['profile'], ...options, channels })
  at.now = () => s.clock.now()
  const anthropic = new Anthropic({ baseURL: s.urls.direct, apiKey: KEY, maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: s.urls.direct } })
  const openai = new OpenAI({ baseURL: `${s.urls.direct}/v1`, apiKey: KEY, maxRetries: 0 })
  /** What the books say and what the simulator has sent are the same, for every request that it served. */
  const same = async (t: Test) => {
    const { rows, left, ok } = await s.books()
    t.ok(ok)
    t.same(left, NOTHING_LEFT)
    const paid = rows.filter(row => row.end === 'completed').map(row => [row.input, row.output, row.basis])
    const served = simulator.stats.served.filter(one => one.end === 'completed')
    t.same(
      paid,
      served.map(({ usage }) => [usage?.input, usage?.output, 'reported']),
    )
    return rows
  }
  /** Another account is answered, so that failures of one account make no channel rest. */
  const answerOther = async () => {
    const other = new Anthropic({ baseURL: s.urls.direct, apiKey: OTHER_KEY, maxRetries: 0 })
    await other.messages.create(ask('Hello!'))
    double.asked.length = 0
  }
  /** The rows of the one account, of which the others say nothing. */
  const failed = async (t: Test) => {
    const { rows, left } = await s.books()
    t.same(left, NOTHING_LEFT)
    t.ok((await s.store.audit()).ok)
    return rows.filter(row => row.accountId === 1)
  }
  return { ...s, double, simulator, anthropic, google, openai, same, answerOther, failed }
}

export const failure = (asked: PromiseLike<unknown>): PromiseLike<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  )

export const ask = (content: string, more: object = {}) => ({
  model: MODEL,
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
})
