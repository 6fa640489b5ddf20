/** Errors and headers that the OpenAI-compatible protocols have in common. */
const TYPES: Record<number, [type: string, code: string | null]> = {
  400: ['invalid_request_error', null],
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['invalid_request_error', null],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['requests', 'rate_limit_exceeded'],
}

export function errorBody(status: number, message: string): object {
  const [type, code] = TYPES[status] ?? ['server_error', null]
  return { error: { message, type, param: null, code } }
}

export const FAILURE = 'The server had an error while processing your request. Sorry about that!'

export const headers = (id: string): Record<string, string> => ({
  'x-request-id': id,
  'openai-processing-ms': '12',
  'x-ratelimit-remaining-requests': '999',
})
