/**
 * A long answer ends when its caller may have no more of it: signed out, banned, in another role, or with a token that was
 * taken back.
 */
import type { Clock } from '../base/clock.ts'
import { ApiError } from './errors.ts'

const EVERY_MS = 1_000

/**
 * Calls `check` again and again until the returned function is called, and `cut` when it refuses. A store that does not
 * answer refuses nobody.
 */
export function whileAllowed(
  clock: Clock,
  check: () => Promise<unknown>,
  cut: (refusal: ApiError) => void,
): () => void {
  let isOver = false
  let cancel = (): void => {}
  const later = () => {
    cancel = clock.after(EVERY_MS, () => void look())
  }
  const look = async () => {
    const refusal = await check().then(
      () => null,
      (error: unknown) => error,
    )
    if (isOver) return
    if (refusal instanceof ApiError) cut(refusal)
    else later()
  }
  later()
  return () => {
    isOver = true
    cancel()
  }
}
