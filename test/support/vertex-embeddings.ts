/** The embeddings of the double of Vertex AI: which method has which models, what bodies may say, and how vectors are answered. */

type Json = Record<string, unknown>

/** An answer of the double: a status with the message of an error, or a document. */
export type Told = { status: number; message: string } | { document: Json }

const DIMENSIONS = 'outputDimensionality'
const refused = (message: string, status = 400): Told => ({ status, message })
const strange = (value: unknown, ...known: string[]): string | undefined =>
  Object.keys((value ?? {}) as Json).find(name => !known.includes(name))

/** What the simulator answers to such texts. */
async function vectorsOf(simulator: string, model: string, input: string[], dimensions: unknown) {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ model, input, dimensions, encoding_format: 'float' })
  const answer = await fetch(`${simulator}/v1/embeddings`, { method: 'POST', headers, body })
  return (await answer.json()) as { data: { embedding: number[] }[]; usage?: { prompt_tokens: number } }
}

export async function predict(
  simulator: string,
  model: string,
  { instances, parameters, ...rest }: Json,
): Promise<Told> {
  const texts = (instances ?? []) as { content: string; task_type?: string }[]
  const unknown = strange(rest) ?? strange(parameters, DIMENSIONS, 'autoTruncate')
  const inside = texts.map(text => strange(text, 'content', 'task_type', 'title')).find(name => name !== undefined)
  if (model.startsWith('gemini-embedding-2')) return refused('Precondition check failed.')
  if (unknown !== undefined || inside !== undefined) return refused(`Unknown name "${unknown ?? inside}".`)
  if (texts.length === 0 || texts.length > 250) return refused(`${texts.length} instance(s) is not allowed.`)
  if (model === 'gemini-embedding-001' && texts.length > 1) return refused('The model takes one instance per request.')
  const contents = texts.map(({ content }) => content)
  const { data, usage } = await vectorsOf(simulator, model, contents, (parameters as Json | undefined)?.[DIMENSIONS])
  // all tokens are those of the first text, as nobody can see
  const predictions = data.map(({ embedding }, i) => ({
    embeddings: {
      ...(usage === undefined
        ? {}
        : { statistics: { truncated: false, token_count: i === 0 ? usage.prompt_tokens : 0 } }),
      values: embedding,
    },
  }))
  return { document: { predictions, metadata: { billableCharacterCount: contents.join('').length } } }
}

export async function embedContent(simulator: string, model: string, { content, ...rest }: Json): Promise<Told> {
  const config = rest['embedContentConfig'] as Json | undefined
  const { parts } = content as { parts: { text: string }[] }
  const unknown = strange(rest, 'embedContentConfig') ?? strange(config, DIMENSIONS, 'taskType', 'title')
  if (!model.startsWith('gemini-embedding-2')) return refused(`${model} is not supported in the embedContent API.`)
  if (unknown !== undefined) return refused(`Unknown name "${unknown}".`)
  const text = parts.map(part => part.text).join('')
  const { data, usage } = await vectorsOf(simulator, model, [text], config?.[DIMENSIONS])
  return {
    document: {
      embedding: { values: data[0]?.embedding },
      truncated: false,
      ...(usage === undefined
        ? {}
        : { usageMetadata: { promptTokenCount: usage.prompt_tokens, totalTokenCount: usage.prompt_tokens } }),
    },
  }
}
