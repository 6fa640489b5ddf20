/** Sentences that several operations on people say. */
import { OperationError, type Words } from '../error.ts'

export const both = (zh: string, en: string): Words => ({ zh, en })

/** Who waits is told for how long, in seconds. */
export const throttled = (waitMs: number): OperationError => {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new OperationError(
    'throttled',
    both(`尝试次数过多，请在 ${seconds} 秒后重试`, `too many tries: try again in ${seconds} seconds`),
    { retry_after: String(seconds) },
  )
}

export const LINK_GONE = () =>
  new OperationError(
    'gone',
    both('此链接已失效、已被使用或已被撤销', 'this link has expired, was used before, or was withdrawn'),
  )

export const NO_SUCH_USER = () => new OperationError('missing', both('没有此用户', 'there is no such user'))

export const WRONG_CODE = () => new OperationError('forbidden', both('验证码不正确', 'the code is not right'))
