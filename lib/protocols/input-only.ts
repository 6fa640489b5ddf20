/**
 * Answers of which nothing is charged: vectors, scores of documents, judgements of texts. What they cost is the input,
 * which most upstreams report behind the results. Where none is reported, the estimate of the input is charged.
 */
import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules } from './answers/document-meter.ts'
import { fieldsOf } from './json/text.ts'
import { type AnswerForm, NO_WORDS, type ProtocolRow } from './protocol.ts'
import { first, type Report, usageReport } from './words/reports.ts'
import { noUsage } from './words/usage.ts'

/** `meta` and `tokens` are where Cohere, and those who speak like it, tell usage. */
const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'usageMetadata', 'meta', 'tokens', 'error'])

/** Finds the input in all the places in which some upstream reports it. */
function reportOf(member: (name: string) => unknown): Report | null {
  const meta = fieldsOf(member('meta'))
  const input =
    first(fieldsOf(member('usage')), 'prompt_tokens', 'input_tokens', 'total_tokens') ??
    first(fieldsOf(member('usageMetadata')), 'promptTokenCount', 'totalTokenCount') ??
    first(fieldsOf(meta['billed_units']), 'input_tokens') ??
    first(fieldsOf(meta['tokens'] ?? member('tokens')), 'input_tokens')
  return input === null ? null : usageReport({ ...noUsage(), input })
}

/** Answers that cost nothing by themselves: their input does, or the request. */
const INPUT_COVER: ProtocolRow['price']['cover'] = [['request'], ['input']]

type InputOnly = AnswerForm & Pick<ProtocolRow, 'streamsByPath' | 'asksForUsage' | 'price'>

/** `own`: the members of which every answer has one, and which have the results. */
export function inputOnly(...own: string[]): InputOnly {
  const rules: DocumentRules = {
    members: MEMBERS,
    own,
    keys: new ContentKeys({ whole: own }),
    writesNothing: true,
    unitsOf: document => first(fieldsOf(fieldsOf(document.value('meta'))['billed_units']), 'search_units') ?? 0,
    reportOf: document => reportOf(name => document.value(name)),
  }
  return {
    terminalIsLast: false,
    meter: ({ mostOutput }) => new DocumentMeter(rules, mostOutput),
    words: NO_WORDS,
    countAnswer: null,
    streamsByPath: () => false,
    asksForUsage: false,
    price: { cover: INPUT_COVER, pictures: false, cachesWhenAsked: false },
  }
}
