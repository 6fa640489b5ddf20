/** What is handed out with a new secret: lines of an environment, files of clients, links that open an application. */
import type { ImportLink } from '../../../lib/console/answers.ts'
import { fill, type Values } from '../../shared/fill.ts'

/** For each way in which programs find the gateway: the lines, and the protocols of models that use them. */
const LINES: readonly { protocols: readonly string[]; text: string }[] = [
  { protocols: ['chat', 'responses'], text: "OPENAI_BASE_URL='{base}/v1'\nOPENAI_API_KEY='{key}'" },
  { protocols: ['messages'], text: "ANTHROPIC_BASE_URL='{base}'\nANTHROPIC_API_KEY='{key}'" },
  { protocols: ['generate'], text: "GOOGLE_GEMINI_BASE_URL='{base}'\nGEMINI_API_KEY='{key}'" },
]

/** The lines of a file `.env` that the models of the key's group need; those of the first kind while there are no models. */
export function environment(values: Values, models: readonly { protocols: readonly string[] }[]): string {
  const spoken = new Set(models.flatMap(({ protocols }) => protocols))
  const fitting = LINES.filter(({ protocols }) => protocols.some(one => spoken.has(one)))
  return (fitting.length > 0 ? fitting : LINES.slice(0, 1)).map(({ text }) => fill(text, 'sh', values)).join('\n')
}

/** The address that opens the application. It holds the key. */
export function importHref({ link, data }: ImportLink, values: Values): string {
  if (data === undefined) return fill(link, 'url', values)
  const filled = Object.entries(data).map(([name, text]) => [name, fill(text, 'text', values)])
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(filled)))
  return fill(link.replace('{data}', encodeURIComponent(btoa(String.fromCharCode(...bytes)))), 'url', values)
}
