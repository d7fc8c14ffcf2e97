;;; sould-rpc.el --- JSON-RPC with the sould daemon  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One connection to a `sould' process: requests, notifications and answers in both directions.  Messages are lines (ACP) or
;; have a header (LSP).  It knows no method names, shows nothing and touches no buffer of the user's.
;;
;; The built-in jsonrpc.el does not speak in lines, and wants every request answered before its handler returns; a question to
;; the user waits for as long as the user likes.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defgroup sould nil
  "Review what coding agents change, and talk to them."
  :group 'tools
  :prefix "sould-")

(defcustom sould-command '("sould")
  "The program and its first arguments; `lsp' or `acp' comes behind them."
  :type '(repeat string))

;; Not a guess at how long sould takes: a daemon that does not answer must give the keys back.
(defcustom sould-timeout 20
  "Seconds after which it is said that sould does not answer.
No command waits longer for it."
  :type 'number)

(defconst sould-rpc-silent "No answer from sould; what was asked may still be done later"
  "What is said after `sould-timeout' seconds.")
(defconst sould-rpc--ended '(:code -32603 :message "sould has ended") "The answer of a program that is gone.")

(cl-defstruct (sould-rpc (:constructor sould-rpc--make) (:copier nil))
  "One connection.
PROCESS is the program.  HEADERS is non-nil where messages have headers.
ON-REQUEST is called with a method, its parameters and a function that
takes the result, ON-NOTIFICATION with a method and its parameters,
ON-CANCEL with the id of a request that is withdrawn, ON-END with a
sentence when the program has ended."
  process headers on-request on-notification on-cancel on-end
  (next 0) (waiting (make-hash-table)) (arrived nil))

(cl-defun sould-rpc-start (face directory &key headers on-request on-notification on-cancel on-end)
  "Start `sould FACE' in DIRECTORY and return the connection.
HEADERS, ON-REQUEST, ON-NOTIFICATION, ON-CANCEL and ON-END are those of
`sould-rpc'."
  (let* ((default-directory (file-name-as-directory directory))
         (program (car sould-command))
         (connection (sould-rpc--make :headers headers :on-request on-request :on-notification on-notification
                                      :on-cancel on-cancel :on-end on-end)))
    (unless (executable-find program)
      (user-error "The program %s is not found; see `sould-command'" program))
    (let ((process (make-process :name (concat "sould " face) :command (append sould-command (list face))
                                 :buffer (generate-new-buffer (format " *sould %s*" face)) :noquery t
                                 :connection-type 'pipe :coding 'binary :stderr (get-buffer-create " *sould stderr*")
                                 :filter #'sould-rpc--filter :sentinel #'sould-rpc--sentinel)))
      (when-let ((errors (get-buffer-process " *sould stderr*")))
        (set-process-query-on-exit-flag errors nil))
      (with-current-buffer (process-buffer process)
        (set-buffer-multibyte nil)
        (buffer-disable-undo))
      (process-put process 'sould-rpc connection)
      (setf (sould-rpc-process connection) process)
      connection)))

(defun sould-rpc-live-p (connection)
  "Whether the program of CONNECTION is alive."
  (and connection (process-live-p (sould-rpc-process connection))))

(defun sould-rpc-stop (connection)
  "End CONNECTION without a word."
  (setf (sould-rpc-on-end connection) #'ignore)
  (when (sould-rpc-live-p connection)
    (delete-process (sould-rpc-process connection))))

;;;; Sending

(defun sould-rpc--send (connection message)
  "Send MESSAGE, a plist, over CONNECTION."
  (let* ((all (append '(:jsonrpc "2.0") message))
         (json (encode-coding-string (json-serialize all :null-object :null :false-object :false) 'utf-8-unix)))
    (when (sould-rpc-live-p connection)
      (process-send-string (sould-rpc-process connection)
                           (if (sould-rpc-headers connection)
                               (format "Content-Length: %d\r\n\r\n%s" (string-bytes json) json)
                             (concat json "\n"))))))

(defun sould-rpc-notify (connection method params)
  "Send the notification METHOD with PARAMS over CONNECTION."
  (sould-rpc--send connection (list :method method :params params)))

(defun sould-rpc-request (connection method params &optional on-result on-error)
  "Send the request METHOD with PARAMS over CONNECTION; return its id.
ON-RESULT is called with the result, ON-ERROR with the error, a plist with
`:code' and `:message'.  An end of the program, before or after, is such
an error, too.  Neither is called before this returns."
  (let ((id (cl-incf (sould-rpc-next connection)))
        (on-error (or on-error #'sould-rpc-tell)))
    (if (not (sould-rpc-live-p connection))
        (run-at-time 0 nil on-error sould-rpc--ended)
      (puthash id (cons (or on-result #'ignore) on-error) (sould-rpc-waiting connection))
      (sould-rpc--send connection (list :id id :method method :params params)))
    id))

(defun sould-rpc-call (connection method params)
  "The result of the request METHOD with PARAMS over CONNECTION.
Waits for `sould-timeout' seconds at most; `keyboard-quit' ends the
wait.  Signals `user-error'.  Only for commands, never for timers."
  (let* (answer
         (until (+ (float-time) sould-timeout))
         (id (sould-rpc-request connection method params
                                (lambda (result) (setq answer (list :result result)))
                                (lambda (failure) (setq answer (list :error failure))))))
    (unwind-protect
        (while (and (not answer) (sould-rpc-live-p connection) (< (float-time) until))
          (accept-process-output (sould-rpc-process connection) 0.2))
      (remhash id (sould-rpc-waiting connection)))
    (cond ((plist-get answer :error) (user-error "%s" (plist-get (plist-get answer :error) :message)))
          (answer (plist-get answer :result))
          ((sould-rpc-live-p connection) (user-error "%s" sould-rpc-silent))
          (t (user-error "%s" (plist-get sould-rpc--ended :message))))))

(defun sould-rpc-tell (failure)
  "Say what FAILURE is; for requests whose answer nobody waits for."
  (message "sould: %s" (plist-get failure :message)))

;;;; Receiving

(defun sould-rpc--filter (process bytes)
  "Take BYTES of PROCESS, and handle the messages that are whole."
  (when-let ((connection (process-get process 'sould-rpc))
             (buffer (process-buffer process))
             ((buffer-live-p buffer)))
    (with-current-buffer buffer
      (goto-char (point-max))
      (insert bytes)
      (let (text)
        (while (setq text (if (sould-rpc-headers connection) (sould-rpc--framed) (sould-rpc--line)))
          (unless (string-blank-p text)
            (when-let ((message (sould-rpc--parse text)))
              (setf (sould-rpc-arrived connection) (append (sould-rpc-arrived connection) (list message))))))))
    ;; A handler may wait for the next message, so each is taken out before it is handled.
    (while (sould-rpc-arrived connection)
      (sould-rpc--handle connection (pop (sould-rpc-arrived connection))))))

(defun sould-rpc--line ()
  "Take a line out of the current buffer; nil when none is whole."
  (goto-char (point-min))
  (when (search-forward "\n" nil t)
    (prog1 (buffer-substring (point-min) (1- (point)))
      (delete-region (point-min) (point)))))

(defun sould-rpc--framed ()
  "Take a message with its header out of the current buffer, or nil."
  (goto-char (point-min))
  (when (search-forward "\r\n\r\n" nil t)
    (let ((begin (point)) length)
      (goto-char (point-min))
      (when (re-search-forward "^Content-Length: *\\([0-9]+\\)" begin t)
        (setq length (string-to-number (match-string 1))))
      (cond ((null length) (delete-region (point-min) begin) "")
            ((<= (+ begin length) (point-max))
             (prog1 (buffer-substring begin (+ begin length))
               (delete-region (point-min) (+ begin length))))))))

(defun sould-rpc--parse (text)
  "TEXT as a plist; nil when it is no JSON."
  (condition-case failure
      (json-parse-string (decode-coding-string text 'utf-8-unix)
                         :object-type 'plist :array-type 'list :null-object nil :false-object nil)
    (error (message "sould: not understood: %s" (error-message-string failure)) nil)))

(defun sould-rpc--handle (connection message)
  "Handle one MESSAGE of CONNECTION; a fault in a handler is told, and no more."
  (let ((id (plist-get message :id)) (method (plist-get message :method)) (params (plist-get message :params)))
    (condition-case-unless-debug failure
        (cond ((and method id)
               (funcall (sould-rpc-on-request connection) method params
                        (lambda (result) (sould-rpc--send connection (list :id id :result result))) id))
              ((member method '("$/cancelRequest" "$/cancel_request"))
               (when (sould-rpc-on-cancel connection)
                 (funcall (sould-rpc-on-cancel connection) params)))
              (method (funcall (sould-rpc-on-notification connection) method params))
              (id (sould-rpc--answered connection id message)))
      (error (message "sould: %s: %s" (or method "answer") (error-message-string failure))
             (when (and method id)
               (sould-rpc--send connection
                                (list :id id :error (list :code -32603 :message (error-message-string failure)))))))))

(defun sould-rpc--answered (connection id message)
  "Give MESSAGE, the answer to the request ID, to who asked over CONNECTION."
  (when-let ((asked (gethash id (sould-rpc-waiting connection))))
    (remhash id (sould-rpc-waiting connection))
    (if-let ((failure (plist-get message :error)))
        (funcall (cdr asked) failure)
      (funcall (car asked) (plist-get message :result)))))

(defun sould-rpc--sentinel (process _event)
  "Answer what still waits when PROCESS has ended."
  (when-let ((connection (and (not (process-live-p process)) (process-get process 'sould-rpc))))
    (let ((asked (hash-table-values (sould-rpc-waiting connection))))
      (clrhash (sould-rpc-waiting connection))
      (when (buffer-live-p (process-buffer process))
        (kill-buffer (process-buffer process)))
      (dolist (each asked)
        (funcall (cdr each) sould-rpc--ended))
      (when (sould-rpc-on-end connection)
        (funcall (sould-rpc-on-end connection) (format "sould has ended (%s)" (process-exit-status process)))))))

(provide 'sould-rpc)
;;; sould-rpc.el ends here
