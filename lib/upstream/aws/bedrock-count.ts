/** What Bedrock answers to a request that asks how many tokens it has, in the form of the messages protocol. */
import { fieldsOf } from '../../protocols/fields.ts'

/** null = it is no count. */
export function countTold(body: Buffer): string | null {
  try {
    const { inputTokens } = fieldsOf(JSON.parse(body.toString()))
    return isCount(inputTokens) ? JSON.stringify({ input_tokens: inputTokens }) : null
  } catch {
    return null
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
