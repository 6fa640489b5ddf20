/** Greets coding tools, which ask whether a gateway is here before they send a key. */
import { stage } from '../plan.ts'
import { answer, ownHeaders, DONE } from '../record/ending.ts'

const HELLO = Buffer.from('{"message":"hello"}')

export const sayHello = stage<'target', never>((x, services) => {
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  answer(x, services, 200, headers, HELLO)
  return DONE
})
