/** The JSON envelope of every error that an API of ours tells, with the request's id behind the message. */

export interface Told {
  code: string
  message: string
  /** What programs want to know beside the message. */
  details?: Readonly<Record<string, string>>
  fields?: readonly { field: string; expected: string }[]
}

export const envelope = ({ code, message, details, fields }: Told, requestId: string): string =>
  JSON.stringify({
    error: {
      code,
      message: `${message} (request id: ${requestId})`,
      type: 'gateway_api_error',
      ...(fields === undefined || fields.length === 0 ? {} : { fields }),
      ...details,
    },
  })
