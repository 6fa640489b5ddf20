/**
 * The simulator's moderations: a text that says "violence" is flagged. As most upstreams do, it reports no usage, unless a
 * directive names the input.
 */
import { noUsage } from '../../../lib/protocols/words/usage.ts'
import { textOf, listOf, need, type Dialect, type Fields } from '../dialect.ts'
import { INPUT_ONLY, inputAsk, fixedPaths } from './plain.ts'

export const moderations: Dialect = {
  ...INPUT_ONLY,
  route: fixedPaths({ '/v1/moderations': 'answer' }),
  read(body) {
    const texts = textsOf(body)
    need(texts.length > 0, "Missing required parameter: 'input'.")
    return inputAsk(body, texts, texts.length)
  },
  usage: (_ask, { input = 0 }) => ({ ...noUsage(), input }),
  whole({ model, body }, { id, usage }) {
    const { input } = usage
    return {
      id: `modr-${id}`,
      model,
      results: textsOf(body).map(text => judge(/violence/i.test(text))),
      ...(input > 0 ? { usage: { prompt_tokens: input, total_tokens: input } } : {}),
    }
  },
}

/** Texts have a result each; parts of one message have one together. */
function textsOf({ input }: Fields): string[] {
  if (typeof input === 'string') return [input]
  const texts = listOf(input)
  return typeof texts[0] === 'string' ? texts.map(String) : texts.length === 0 ? [] : [textOf(texts)]
}

const judge = (flagged: boolean) => ({
  flagged,
  categories: { violence: flagged },
  category_scores: { violence: flagged ? 0.9 : 0.01 },
  category_applied_input_types: { violence: ['text'] },
})
