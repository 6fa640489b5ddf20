/** Calls of the admin API by which operators watch over the gateway: who is refused and why, who sends more than usual, and how channels fare. */
import { z } from 'zod'
import { moneyText, timeText } from '../operations/fields.ts'
import { refusalCountsFilter, refusalsFilter, sendersFilter } from '../operations/usage/filters.ts'
import { reportJson } from '../operations/usage/reports.ts'
import { channelHealthAnswer, restForm, trialAnswer, trialForm } from '../operations/catalogue/catalogue.ts'
import { page, readingCall } from './call.ts'

const who = { account: z.string().optional(), key: z.int().optional(), address: z.string().optional() }
const rate = z.number().min(0)

const refusal = z
  .strictObject({
    request_id: z.string(),
    at: timeText,
    account: z.string().optional(),
    key: z.int(),
    model: z.string(),
    reason: z.string(),
    status: z.int(),
    address: z.string(),
    why: z.string(),
    todo: z.string(),
  })
  .meta({ id: 'RefusedRequest' })

export const WATCHING = [
  readingCall({
    id: 'refusals.list',
    call: 'GET /refusals',
    summary: 'Refusals that are kept, newest first: of known keys, at most ten of a key and reason in a minute.',
    query: refusalsFilter,
    answer: page(refusal).extend({ scanned_to: timeText.nullable() }),
    refuses: [404],
    run: ({ deps }, { query }) => reportJson(deps, 'refused', query),
  }),
  readingCall({
    id: 'refusals.counts',
    call: 'GET /refusals/counts',
    summary:
      'All refusals of whole hours, counted by reason, or by who was refused and why. Totals by reason are exact; of the others a count may be too large by its `error`, and who is not named was refused `unnamed_most` times at most.',
    query: refusalCountsFilter,
    answer: z
      .strictObject({
        from: timeText,
        to: timeText,
        requests: z.int(),
        refused: z.int(),
        unnamed_most: z.int(),
        data: z.array(z.strictObject({ ...who, reason: z.string(), count: z.int(), error: z.int() })),
      })
      .meta({ id: 'RefusalCounts' }),
    refuses: [404],
    run: ({ deps }, { query }) => reportJson(deps, 'refusalCounts', query),
  }),
  readingCall({
    id: 'senders.list',
    call: 'GET /senders',
    summary:
      'Who sends more than usual, the largest excess first: figures of a minute, since the hour before this one and on the days of the last week on which it sent anything.',
    query: sendersFilter,
    answer: z
      .strictObject({
        from: timeText,
        data: z.array(
          z.strictObject({
            ...who,
            requests: rate,
            requests_usual: rate.nullable(),
            refused: rate,
            refused_usual: rate.nullable(),
            charge: moneyText,
            charge_usual: moneyText.nullable(),
            times: rate.nullable(),
          }),
        ),
      })
      .meta({ id: 'Senders' }),
    run: ({ deps }, { query }) => reportJson(deps, 'senders', query),
  }),
  readingCall({
    id: 'channels.rest',
    call: 'POST /channels/{name}/rest',
    summary: 'Lets a channel rest in this gateway: it gets no requests for the time of `for`.',
    body: restForm,
    answer: channelHealthAnswer,
    refuses: [409],
    run: ({ catalogue }, { path, body }) => catalogue.rest(path.name, body),
  }),
  readingCall({
    id: 'channels.wake',
    call: 'POST /channels/{name}/wake',
    summary: 'Ends all rests of a channel, of its keys and of its models in this gateway.',
    answer: channelHealthAnswer,
    refuses: [409],
    run: ({ catalogue }, { path }) => catalogue.wake(path.name),
  }),
  readingCall({
    id: 'channels.test',
    call: 'POST /channels/{name}/test',
    summary:
      'Asks the upstream of a channel for each of its models on each protocol, with the shortest request there is, whatever its breaker says. The upstream may charge some tokens.',
    body: trialForm,
    answer: trialAnswer,
    refuses: [409],
    run: ({ catalogue }, { path, body }) => catalogue.test(path.name, body),
  }),
]
