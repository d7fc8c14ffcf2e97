;;; sould-inbox.el --- What waits for your answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; All that sessions ask, of all projects and whichever client began them, from `sould status'.  Answers go through the command
;; line, too: they open no session here, and the first answer wins wherever it is given.

;;; Code:

(require 'sould-agent)

(defface sould-inbox-title '((t :inherit warning :weight bold))
  "What is asked."
  :group 'sould)

(defconst sould-inbox--name "*sould inbox*" "The buffer of the inbox.")

(defvar sould-inbox-mode-map
  (let ((map (make-sparse-keymap)))
    (suppress-keymap map)
    (pcase-dolist (`(,key . ,command)
                   '(("n" . sould-inbox-next) ("p" . sould-inbox-previous)
                     ("a" . sould-inbox-approve) ("s" . sould-inbox-approve-session)
                     ("r" . sould-inbox-reject) ("\r" . sould-inbox-answer)
                     ("g" . sould-inbox-refresh) ("q" . quit-window)))
      (define-key map key command))
    map)
  "Keys of the inbox.")

(define-derived-mode sould-inbox-mode special-mode "sould inbox"
  "What waits for your answer, in all projects.
\\{sould-inbox-mode-map}"
  (setq-local revert-buffer-function (lambda (&rest _) (sould-inbox-refresh))))

;;;###autoload
(defun sould-inbox ()
  "Show what waits for your answer, in all projects."
  (interactive)
  (let ((buffer (get-buffer-create sould-inbox--name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'sould-inbox-mode)
        (sould-inbox-mode)
        (let ((inhibit-read-only t))
          (insert "Looking ...\n")))
      (sould-inbox-refresh))
    (pop-to-buffer buffer)))

(defun sould-inbox--run (arguments then)
  "Run sould with ARGUMENTS; THEN is called with its exit code and its output."
  (let ((output (generate-new-buffer " *sould answer*")) (default-directory "~/"))
    (make-process :name "sould" :buffer output :noquery t :connection-type 'pipe
                  :command (append sould-command arguments)
                  :sentinel (lambda (process _event)
                              (unless (process-live-p process)
                                (let ((text (with-current-buffer output (buffer-string))))
                                  (kill-buffer output)
                                  (funcall then (process-exit-status process) text)))))))

(defun sould-inbox-refresh ()
  "Look again."
  (interactive)
  (sould-inbox--run '("status" "--json") (lambda (_code text) (sould-inbox--show (sould-inbox--parse text)))))

(defun sould-inbox--parse (text)
  "The sessions in TEXT, the output of `sould status --json'."
  (when (string-prefix-p "{" text)
    (plist-get (json-parse-string text :object-type 'plist :array-type 'list :null-object nil :false-object nil)
               :sessions)))

(defun sould-inbox--show (sessions)
  "Show what waits in SESSIONS; point stays on what it is on."
  (when-let ((buffer (get-buffer sould-inbox--name)))
    (with-current-buffer buffer
      (let ((inhibit-read-only t)
            (here (plist-get (get-text-property (point) 'sould-item) :id))
            (items 0))
        (erase-buffer)
        (dolist (session sessions)
          (dolist (item (plist-get session :waiting))
            (cl-incf items)
            (sould-inbox--insert session item)))
        (insert (if (= items 0) "Nothing waits for you.\n" "")
                (propertize (substitute-command-keys
                             "\\<sould-inbox-mode-map>\\[sould-inbox-approve] approve  \\[sould-inbox-approve-session] approve for the session  \\[sould-inbox-reject] reject, with words  \\[sould-inbox-answer] answer  \\[sould-inbox-refresh] look again")
                            'font-lock-face 'shadow)
                "\n")
        (goto-char (or (sould-inbox--place here) (point-min)))
        (dolist (window (get-buffer-window-list nil nil t))
          (set-window-point window (point)))))))

(defun sould-inbox--place (id)
  "Where the item ID begins, or nil."
  (let ((place (point-min)))
    (while (and place (not (and id (equal id (plist-get (get-text-property place 'sould-item) :id)))))
      (setq place (next-single-property-change place 'sould-item)))
    place))

(defun sould-inbox--insert (session item)
  "Insert ITEM, which SESSION waits for."
  (let ((begin (point)))
    (insert (propertize (plist-get item :title) 'font-lock-face 'sould-inbox-title) "\n"
            (propertize (format "  %s, %s%s\n" (abbreviate-file-name (plist-get session :cwd))
                                (or (plist-get session :title) "")
                                (let ((who (plist-get item :who))) (if (member who '(nil "")) "" (concat ", " who))))
                        'font-lock-face 'shadow)
            (mapconcat (lambda (line) (concat "  " line "\n")) (plist-get item :lines) "")
            (let ((more (plist-get item :more))) (if (memq more '(nil 0)) "" (format "  ... %d more lines\n" more)))
            (mapconcat #'sould-inbox--question (plist-get item :questions) "")
            "\n")
    (put-text-property begin (point) 'sould-item item)))

(defun sould-inbox--question (question)
  "QUESTION with its options, as text."
  (concat "  " (plist-get question :question) "\n"
          (let ((number 0))
            (mapconcat (lambda (option) (format "    %d. %s\n" (cl-incf number) option)) (plist-get question :options) ""))))

;;;; Commands

(defun sould-inbox--item ()
  "The item at point."
  (or (get-text-property (point) 'sould-item)
      (user-error "Nothing here waits for you")))

(defun sould-inbox--tell (&rest arguments)
  "Answer with the command ARGUMENTS, and look again."
  (sould-inbox--run arguments
                    (lambda (_code text)
                      (message "%s" (string-trim text))
                      (sould-inbox-refresh))))

(defun sould-inbox-approve ()
  "Allow what is asked at point, once."
  (interactive)
  (sould-inbox--tell "approve" (plist-get (sould-inbox--item) :id)))

(defun sould-inbox-approve-session ()
  "Allow what is asked at point, and the like in its session from now on."
  (interactive)
  (let ((item (sould-inbox--item)))
    (when (y-or-n-p (format "From now on in this session: %s? " (or (plist-get item :scope) "the same")))
      (sould-inbox--tell "approve" (plist-get item :id) "--for-session"))))

(defun sould-inbox-reject (words)
  "Reject what is asked at point, and tell the agent WORDS.
Without words its turn ends."
  (interactive (list (progn (sould-inbox--item)
                            (read-string "Tell the agent why (empty: stop it): "))))
  (apply #'sould-inbox--tell "reject" (plist-get (sould-inbox--item) :id)
         (unless (string-empty-p words) (list "--because" words))))

(defun sould-inbox-answer ()
  "Answer the question at point, or approve what is asked there."
  (interactive)
  (let* ((item (sould-inbox--item)) (questions (plist-get item :questions)))
    (if questions
        (apply #'sould-inbox--tell "answer" (plist-get item :id) (mapcar #'sould-inbox--read questions))
      (when (y-or-n-p (format "Approve: %s? " (plist-get item :title)))
        (sould-inbox-approve)))))

(defun sould-inbox--read (question)
  "What the user answers QUESTION."
  (completing-read (concat (plist-get question :question) " ") (plist-get question :options)))

(defun sould-inbox-next ()
  "Go to the next item."
  (interactive)
  (goto-char (or (next-single-property-change (point) 'sould-item) (point))))

(defun sould-inbox-previous ()
  "Go to the previous item."
  (interactive)
  (goto-char (or (previous-single-property-change (point) 'sould-item) (point-min))))

(defun sould-inbox--happened (_session what _params)
  "Look again when WHAT happened concerns the inbox, and it is shown."
  (when (and (memq what '(asked answered)) (get-buffer-window sould-inbox--name t))
    (sould-inbox-refresh)))

(add-hook 'sould-agent-functions #'sould-inbox--happened)

(provide 'sould-inbox)
;;; sould-inbox.el ends here
